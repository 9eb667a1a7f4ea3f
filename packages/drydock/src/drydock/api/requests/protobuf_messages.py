"""The protobuf messages that kubectl sends, as far as its commands write them."""

# Each field is `number name:type`. No type is a string; `?` keeps what is empty, because its absence means something
# else; `[]` and `{}` are lists and maps, of strings unless they say of what.
OBJECT = "1 metadata:ObjectMeta"
NOTATION = {
    "ObjectMeta": "1 name 2 generateName 3 namespace 5 uid 6 resourceVersion 11 labels:{} 12 annotations:{}"
    " 13 ownerReferences:[OwnerReference] 14 finalizers:[]",
    "OwnerReference": "1 kind 3 name 4 uid 5 apiVersion 6 controller:bool? 7 blockOwnerDeletion:bool?",
    "DeleteOptions": "1 gracePeriodSeconds:int? 2 preconditions:Preconditions 3 orphanDependents:bool?"
    " 4 propagationPolicy 5 dryRun:[]",
    "Preconditions": "1 uid:? 2 resourceVersion:?",
    "LabelSelector": "1 matchLabels:{} 2 matchExpressions:[LabelSelectorRequirement]",
    "LabelSelectorRequirement": "1 key 2 operator 3 values:[]",
    "Quantity": "1 string",
    "IntOrString": "1 type:int 2 intVal:int? 3 strVal:?",
    "ConfigMap": f"{OBJECT} 2 data:{{}} 3 binaryData:{{bytes}} 4 immutable:bool?",
    "Secret": f"{OBJECT} 2 data:{{bytes}} 3 type 4 stringData:{{}} 5 immutable:bool?",
    "Namespace": f"{OBJECT} 2 spec:NamespaceSpec",
    "NamespaceSpec": "1 finalizers:[]",
    "ServiceAccount": f"{OBJECT} 2 secrets:[ObjectReference] 3 imagePullSecrets:[LocalObjectReference]"
    " 4 automountServiceAccountToken:bool?",
    "LocalObjectReference": "1 name",
    "ObjectReference": "1 kind 2 namespace 3 name 4 uid 5 apiVersion 6 resourceVersion 7 fieldPath",
    "ResourceQuota": f"{OBJECT} 2 spec:ResourceQuotaSpec",
    "ResourceQuotaSpec": "1 hard:{Quantity} 2 scopes:[]",
    "Binding": f"{OBJECT} 2 target:ObjectReference",
    "Eviction": f"{OBJECT} 2 deleteOptions:DeleteOptions",
    "PodDisruptionBudget": f"{OBJECT} 2 spec:PodDisruptionBudgetSpec",
    "PodDisruptionBudgetSpec": "1 minAvailable:IntOrString 2 selector:LabelSelector 3 maxUnavailable:IntOrString"
    " 4 unhealthyPodEvictionPolicy",
    "TokenRequest": f"{OBJECT} 2 spec:TokenRequestSpec",
    "TokenRequestSpec": "1 audiences:[] 3 boundObjectRef:BoundObjectReference 4 expirationSeconds:int?",
    "BoundObjectReference": "1 kind 2 apiVersion 3 name 4 uid",
    "TokenReview": f"{OBJECT} 2 spec:TokenReviewSpec",
    "TokenReviewSpec": "1 token 2 audiences:[]",
    "SelfSubjectReview": OBJECT,
    "SelfSubjectAccessReview": f"{OBJECT} 2 spec:SubjectAccessReviewSpec",
    "SubjectAccessReview": f"{OBJECT} 2 spec:SubjectAccessReviewSpec",
    "LocalSubjectAccessReview": f"{OBJECT} 2 spec:SubjectAccessReviewSpec",
    "SubjectAccessReviewSpec": "1 resourceAttributes:ResourceAttributes 2 nonResourceAttributes:NonResourceAttributes"
    " 3 user 4 groups:[] 6 uid",
    "ResourceAttributes": "1 namespace 2 verb 3 group 4 version 5 resource 6 subresource 7 name",
    "NonResourceAttributes": "1 path 2 verb",
    "SelfSubjectRulesReview": f"{OBJECT} 2 spec:SelfSubjectRulesReviewSpec",
    "SelfSubjectRulesReviewSpec": "1 namespace",
    "Role": f"{OBJECT} 2 rules:[PolicyRule]",
    "ClusterRole": f"{OBJECT} 2 rules:[PolicyRule] 3 aggregationRule:AggregationRule",
    "RoleBinding": f"{OBJECT} 2 subjects:[Subject] 3 roleRef:RoleRef",
    "ClusterRoleBinding": f"{OBJECT} 2 subjects:[Subject] 3 roleRef:RoleRef",
    "PolicyRule": "1 verbs:[] 2 apiGroups:[] 3 resources:[] 4 resourceNames:[] 5 nonResourceURLs:[]",
    "Subject": "1 kind 2 apiGroup 3 name 4 namespace",
    "RoleRef": "1 apiGroup 2 kind 3 name",
    "AggregationRule": "1 clusterRoleSelectors:[LabelSelector]",
    "PriorityClass": f"{OBJECT} 2 value:int 3 globalDefault:bool 4 description 5 preemptionPolicy:?",
    "TypeMeta": "1 apiVersion 2 kind",
    "Deployment": f"{OBJECT} 2 spec:DeploymentSpec",
    "DeploymentSpec": "1 replicas:int? 2 selector:LabelSelector 3 template:PodTemplateSpec"
    " 4 strategy:DeploymentStrategy 5 minReadySeconds:int 6 revisionHistoryLimit:int? 7 paused:bool"
    " 9 progressDeadlineSeconds:int?",
    "DeploymentStrategy": "1 type",
    "Job": f"{OBJECT} 2 spec:JobSpec",
    "JobSpec": "1 parallelism:int? 2 completions:int? 3 activeDeadlineSeconds:int? 6 template:PodTemplateSpec"
    " 7 backoffLimit:int? 8 ttlSecondsAfterFinished:int? 9 completionMode:? 10 suspend:bool?",
    "PodTemplateSpec": "1 metadata:ObjectMeta 2 spec:PodSpec",
    "PodSpec": "2 containers:[Container] 3 restartPolicy 4 terminationGracePeriodSeconds:int?"
    " 5 activeDeadlineSeconds:int? 6 dnsPolicy 7 nodeSelector:{} 8 serviceAccountName 9 serviceAccount 10 nodeName"
    " 11 hostNetwork:bool 12 hostPID:bool 13 hostIPC:bool 15 imagePullSecrets:[LocalObjectReference] 16 hostname"
    " 17 subdomain 19 schedulerName 20 initContainers:[Container] 21 automountServiceAccountToken:bool?"
    " 22 tolerations:[Toleration] 24 priorityClassName",
    "Container": "1 name 2 image 3 command:[] 4 args:[] 5 workingDir 6 ports:[ContainerPort] 7 env:[EnvVar]"
    " 8 resources:ResourceRequirements 13 terminationMessagePath 14 imagePullPolicy 16 stdin:bool 17 stdinOnce:bool"
    " 18 tty:bool 20 terminationMessagePolicy",
    "ContainerPort": "1 name 2 hostPort:int 3 containerPort:int 4 protocol 5 hostIP",
    "EnvVar": "1 name 2 value",
    "ResourceRequirements": "1 limits:{Quantity} 2 requests:{Quantity}",
    "Toleration": "1 key 2 operator 3 value 4 effect 5 tolerationSeconds:int?",
    "Service": f"{OBJECT} 2 spec:ServiceSpec",
    "ServiceSpec": "1 ports:[ServicePort] 2 selector:{} 3 clusterIP 4 type 5 externalIPs:[] 7 sessionAffinity"
    " 10 externalName 13 publishNotReadyAddresses:bool",
    "ServicePort": "1 name 2 protocol 3 port:int 4 targetPort:IntOrString 5 nodePort:int",
}
WHOLE = frozenset(
    {"DeploymentSpec", "DeploymentStrategy", "JobSpec", "PodSpec", "Container", "EnvVar", "ServiceSpec"}
)  # a field of these that is not known here would be lost
